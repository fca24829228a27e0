import type { Settings } from '#base/settings.ts'

/** Ports that are handed out when nobody asks for a particular one. */
const RANDOM_TCP_PORTS = { first: 20_000, last: 29_999 }

/** Of the ports that are handed out, those that may be used; if that leaves none, all that may. */
export function randomPorts({ tcp_ports: allowed }: Settings): { first: number; last: number } {
  const first = Math.max(RANDOM_TCP_PORTS.first, allowed.first)
  const last = Math.min(RANDOM_TCP_PORTS.last, allowed.last)
  return first <= last ? { first, last } : allowed
}
