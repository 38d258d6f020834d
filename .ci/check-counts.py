#!/usr/bin/env python3
"""Checks the request counts of a benchmark: they are exact where times are not.

usage: check-counts.py RESULTS.JSON
"""
import json
import sys

results = json.load(open(sys.argv[1], encoding="utf-8"))
failures = []


def cells(experiment, version, delegations):
    found = [
        cell
        for cell in results["cells"]
        if cell["experiment"] == experiment
        and cell["version"] == version
        and cell["delegations"] == delegations
    ]
    if not found:
        failures.append(f"no cell for {experiment}, version {version}, delegations {delegations}")
    return found


def check(what, condition):
    print(("ok      " if condition else "FAILED  ") + what)
    if not condition:
        failures.append(what)


def per_operation(cell):
    operations = sum(run["operations"] for run in cell["run_details"]) / len(cell["run_details"])
    return cell["rpcs_total"] / operations


check("schema is 1", results["schema"] == 1)
check("a recommendation was made", results["verdict"]["recommend"] in ("3", "4.1", "either"))
check("every comparison has an interval", all(len(c["ci95"]) == 2 for c in results["comparisons"]))
for cell in cells("locked-read", "4.1", True):
    # At most OPEN, READ and DELEGRETURN for each file of ten rounds.
    check(f"locked-read 4.1 at {cell['rtt_ms']} ms: {per_operation(cell):.3f} requests a round <= 0.4", per_operation(cell) <= 0.4)
for cell in cells("locked-read", "3", False):
    check(f"locked-read 3 at {cell['rtt_ms']} ms: {per_operation(cell):.3f} requests a round <= 6", per_operation(cell) <= 6)
for cell in cells("small-file-read", "4.1", True):
    check(f"small-file-read 4.1 at {cell['rtt_ms']} ms: {per_operation(cell):.4f} requests a read <= 0.05", per_operation(cell) <= 0.05)

checks = "failed" if failures else "passed"
print(f"request counts {checks}")
sys.exit(1 if failures else 0)
