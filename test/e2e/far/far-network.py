"""
A network that is far away: what is sent to 10.9.0.2 comes back to this machine from there, after
a while each way. Prints "ready" once it carries packets; ends with its standard input.

To swap the two addresses of a packet leaves its checksums right.
"""

import fcntl
import heapq
import os
import select
import struct
import subprocess
import sys
import time

delay = float(sys.argv[1])
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", b"far0", IFF_TUN | IFF_NO_PI))
for command in ("link set lo up", "addr add 10.9.0.1/24 dev far0", "link set far0 up"):
    subprocess.run(["ip", *command.split()], check=True)
print("ready", flush=True)
under_way = []
while True:
    wait = max(0, under_way[0][0] - time.monotonic()) if under_way else None
    readable, _, _ = select.select([tun, sys.stdin], [], [], wait)
    if sys.stdin in readable:
        break
    if tun in readable:
        packet = os.read(tun, 65536)
        if packet[0] >> 4 == 4:
            swapped = packet[:12] + packet[16:20] + packet[12:16] + packet[20:]
            heapq.heappush(under_way, (time.monotonic() + delay, swapped))
    while under_way and under_way[0][0] <= time.monotonic():
        os.write(tun, heapq.heappop(under_way)[1])
