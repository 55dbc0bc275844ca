from ray.util.placement_group import PlacementGroup

class PlacementGroupSchedulingStrategy:
    def __init__(self, placement_group: PlacementGroup, placement_group_bundle_index: int) -> None: ...
