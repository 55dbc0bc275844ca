"""Review: what people decide about the words of photos, and which photos and words to decide next.

    from tagsight.review.journal import locate_journal, open_journal
    from tagsight.review.table import make_table
    from tagsight.review.queues import list_pairs, list_next, review_photo, review_word
    table = make_table(open_for_review("photos"), open_index("photos.index"), journal.list_current())
    for item in list_pairs(table, "suggested", top=20):
        print(item.photo, item.word, item.score, item.evidence)

A decision about a photo and a word is "yes", "no" or "unsay" (not said). `journal` stores decisions, `decided` applies
them to a collection, `table` combines tags, predictions and decisions, and `queues` ranks what is left to decide.
"""
