"""tagsight serve."""

from typing import Annotated

import typer

from tagsight.cli.arguments import Backbone, IndexFolder
from tagsight.index import open_index
from tagsight.runtime.messages import print_message
from tagsight.web.server import check_token, format_host, serve


def run(
    index: IndexFolder,
    host: Annotated[
        str, typer.Option(help="Address to listen on. An address other than this machine's needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(envvar="TAGSIGHT_TOKEN", help="Password of the page, 12 characters or more.", show_default="none"),
    ] = None,
    backbone: Backbone = None,
) -> None:
    """Search and annotate photos in the browser."""
    check_token(host, token)
    opened = open_index(index, backbone=backbone)
    address = f"http://{format_host(host)}:{port}/{'?token=...' if token else ''} (Ctrl-C ends it)"
    serve(opened, host=host, port=port, token=token, on_listening=lambda: print_message(address))
