"""One evaluation against size, memory, and the machine's limit."""

from __future__ import annotations

from benchmarks.limits import chain_bytes, operations
from benchmarks.page.words import digits, ratio, seconds, table

FAMILIES = {"ladder": "N four-bar loops", "rods": "a chain of rods"}


def _of(found: dict, family: str) -> dict[str, dict[int, dict]]:
    """Records by peer and number of bodies."""
    out: dict[str, dict[int, dict]] = {}
    for r in found["evaluations"].values():
        if r["family"] == family:
            out.setdefault(r["peer"], {})[r["bodies"]] = r
    return out


def section(found: dict) -> str:
    parts = []
    for family, title in FAMILIES.items():
        seen = _of(found, family)
        sizes = sorted({bodies for of in seen.values() for bodies in of})
        if not sizes:
            continue
        shapes = {
            r["bodies"]: (r["rows"], r["coordinates"]) for of in seen.values() for r in of.values()
        }
        rows = []
        for key, of in seen.items():
            what = next((r["what"] for r in of.values() if "what" in r), "")
            rows.append(
                [
                    f"{program(found, key)}, {what}".rstrip(", "),
                    *(_cell(of.get(b), seen.get("zwang", {}).get(b), key) for b in sizes),
                ]
            )
        head = [
            f"{b} bodies" + (f" ({shapes[b][0]} × {shapes[b][1]})" if b in shapes else "")
            for b in sizes
        ]
        parts += [
            f"### {title[0].upper()}{title[1:]}\n",
            f"![Time per body, {title}](_static/performance/{family}.svg)\n",
        ]
        parts += [table(["program", *head], rows), _memory(found, seen, sizes)]
    return "\n".join(parts)


def program(found: dict, key: str) -> str:
    """A peer's title without its integrator, which has no part in one evaluation."""
    return found["peers"][key]["title"].split(",")[0]


def ahead(found: dict) -> str:
    """Sizes at which another program takes less time for an acceleration."""
    rows = []
    for family, title in FAMILIES.items():
        seen = _of(found, family)
        for bodies, ours in sorted(seen.get("zwang", {}).items()):
            others = [of[bodies] for key, of in seen.items() if key != "zwang" and bodies in of]
            others = [r for r in others if r["status"] == "ran" and r["what"] == "acceleration"]
            best = min(others, key=lambda r: r["seconds"]["median"], default=None)
            if (
                best is None
                or ours["status"] != "ran"
                or best["seconds"]["median"] >= ours["seconds"]["median"]
            ):
                continue
            beside = ratio(ours["seconds"]["median"] / best["seconds"]["median"])
            rows.append(
                [
                    title,
                    f"{bodies}",
                    program(found, best["peer"]),
                    seconds(best["seconds"]["median"]),
                    beside,
                ]
            )
    return table(["system", "bodies", "fastest", "its time", "zwang's ratio"], rows) or "None.\n"


def _cell(record, ours, key: str) -> str:
    if record is None:
        return ""
    if record["status"] != "ran":
        return record["sentence"].replace("|", "/")
    x = record["seconds"]["median"]
    beside = (
        f", {ratio(x / ours['seconds']['median'])}"
        if key != "zwang" and ours and ours["status"] == "ran"
        else ""
    )
    return f"{seconds(x)}{beside}"


def _memory(found, seen, sizes) -> str:
    """Largest memory of each process, at the largest size that it reached."""
    rows = []
    for key, of in seen.items():
        ran = [b for b in sizes if b in of and of[b]["status"] == "ran"]
        if ran:
            rows.append(
                [
                    program(found, key),
                    f"{ran[-1]}",
                    f"{of[ran[-1]]['peak_mb']:.0f} MB",
                    seconds(of[ran[-1]]["ready"]),
                ]
            )
    return table(
        ["program", "largest number of bodies", "memory of the process", "preparation time"], rows
    )


def limit(results: dict) -> str:
    """How far one acceleration is from what the machine can do."""
    machine, found = results.get("limits"), results.get("peers")
    if not machine or not found:
        return "Not measured yet: `python -m benchmarks limits`.\n"
    peak, stream = machine["dgemm"]["median"], machine["triad"]["median"]
    text = (
        f"One core of this machine multiplies matrices at {digits(peak / 1e9)} GFLOP/s and "
        f"streams {digits(stream / 1e9)} GB/s; LAPACK's Cholesky factorization runs at "
        + ", ".join(
            f"{digits(x['median'] / 1e9)} GFLOP/s for {n} rows"
            for n, x in machine["cholesky"].items()
        )
        + ". The lower bound for one acceleration is the larger of two times: its operations "
        "at the first rate, and its bytes at the second.\n"
    )
    rows = []
    for _, r in sorted(_of(found, "ladder").get("zwang", {}).items()):
        if r["status"] == "ran" and r["rows"] <= 200:
            work, data = operations(r["rows"], r["coordinates"])
            rows.append(
                _limit_row(
                    f"{r['rows']} × {r['coordinates']}, dense",
                    work / peak,
                    data / stream,
                    r["seconds"]["median"],
                )
            )
    for bodies, r in sorted(_of(found, "rods").get("zwang", {}).items()):
        if r["status"] == "ran" and bodies >= 1000:
            rows.append(
                _limit_row(
                    f"{bodies} rods, sparse",
                    None,
                    chain_bytes(bodies) / stream,
                    r["seconds"]["median"],
                )
            )
    return (
        text
        + "\n"
        + table(
            ["one acceleration", "its operations", "its bytes", "measured", "relative to limit"],
            rows,
        )
    )


def _limit_row(name, work, data, measured) -> list[str]:
    least = max(x for x in (work, data) if x is not None)
    return [
        name,
        seconds(work) if work is not None else "few",
        seconds(data),
        seconds(measured),
        ratio(measured / least),
    ]
