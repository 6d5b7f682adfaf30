# SPDX-License-Identifier: BSD-3-Clause
"""Times in records: ISO 8601."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Optional

_FRACTION = re.compile(r"\.[0-9]+")


def moment(text: str) -> Optional[datetime]:
    """The time that a text gives, None if it gives none; without a time zone if the text has none. Python's
    own reader knows neither Z nor every number of digits."""
    try:
        return datetime.fromisoformat(_FRACTION.sub("", text).replace("Z", "+00:00"))
    except ValueError:
        return None
