"""The laws of every manifest format, as assertions on one file."""

from collections import Counter
from collections.abc import Sequence

from groundup.manifests.records import Dependency
from groundup.manifests.sections import ManifestFormat


def assert_laws(manifest_format: ManifestFormat, data: bytes, path: str, *, most_removed: int = 6) -> None:
    """Assert everything that holds for each readable file, whatever it declares."""
    kinds = manifest_format.masked_kinds
    declared = manifest_format.read(data, path).dependencies
    assert manifest_format.write(data, declared, path) == data, "writing what is declared changes nothing"
    masked = manifest_format.mask(data, path)
    left = [item for item in manifest_format.read(masked, path).dependencies if item.kind in kinds]
    assert left == [], "a mask leaves nothing declared"
    assert manifest_format.mask(masked, path) == masked, "a masked file has nothing left to mask"
    restored = manifest_format.write(masked, declared, path)
    assert identities(manifest_format.read(restored, path).dependencies) == identities(declared)
    for index in range(min(len(declared), most_removed)):
        rest = (*declared[:index], *declared[index + 1 :])
        shorter = manifest_format.write(data, rest, path)
        assert identities(manifest_format.read(shorter, path).dependencies) == identities(rest)
        assert is_subsequence(shorter, data), "taking one away only deletes"
        again = manifest_format.write(shorter, declared, path)
        assert identities(manifest_format.read(again, path).dependencies) == identities(declared)


def identities(dependencies: Sequence[Dependency]) -> Counter[tuple[object, ...]]:
    """Return what is declared, without where."""
    return Counter(item.identity for item in dependencies)


def is_subsequence(shorter: bytes, longer: bytes) -> bool:
    """Whether deleting bytes of *longer* can give *shorter*."""
    remaining = iter(longer)
    return all(byte in remaining for byte in shorter)
