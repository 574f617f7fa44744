"""The flags of `groundup harbor export`. Importing this module imports nothing heavy, for help reads it."""

from typing import Annotated, Literal, TypedDict

from groundup.api.flags import AnyPath, FlagHelp, Names

IMAGES = "Images"
NETWORK = "Network"


class HarborFlags(TypedDict, total=False):
    """How tasks are written for Harbor."""

    base: Annotated[
        AnyPath | None,
        FlagHelp("Base of the agents' images: what `docker save` wrote (default: what sandboxes show).", IMAGES),
    ]
    registry: Annotated[
        str | None, FlagHelp("Where you will push the images; tasks then name them by digest.", IMAGES)
    ]
    allow: Annotated[
        Names, FlagHelp("A host that agents may reach; can be repeated (default: none).", NETWORK, metavar="HOST")
    ]
    network_mode: Annotated[
        Literal["harbor", "none", "host"],
        FlagHelp(
            "Who closes the network: harbor, by a container of its own, or the engine (none); host: so, but "
            "verifiers of services have the machine's network.",
            NETWORK,
        ),
    ]
