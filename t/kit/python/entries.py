"""What the package for Python makes of events; see entries.js."""

import json
import sys

from guildlog.events import entries_of
from guildlog.known import Known

for line in sys.stdin:
    case = json.loads(line)
    known = Known(10, 10)
    made = []

    known.create(case['guild'])
    for n, packet in enumerate(case['packets']):
        t, d = packet['t'], packet['d']
        knows = known.of(case['guild']['id'], t, d)
        full = {**(knows.before or {}), **d} if t == 'MESSAGE_UPDATE' else d
        made += entries_of(t, full, knows, str(n), n)
        known.see(t, d)
    print(json.dumps(made))
