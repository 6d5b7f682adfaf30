# SPDX-License-Identifier: BSD-3-Clause
"""fits_schema.py SCHEMA RECORDS checks every record against the schema and prints the first ten errors."""

import json
import sys

import jsonschema

with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
validator = jsonschema.validators.validator_for(schema)(schema)
misfits = 0
with open(sys.argv[2], encoding="utf-8") as file:
    for number, line in enumerate(file, 1):
        record = json.loads(line)
        for error in validator.iter_errors(record):
            misfits += 1
            if misfits <= 10:
                print(
                    f"{record['program']}, line {number} ({record['kind']}): {error.json_path}: "
                    f"{error.message[:200]}"
                )
sys.exit(misfits > 0)
