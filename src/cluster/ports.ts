import type { Settings } from '#base/settings.ts'

/** Ports for requests without a particular one. */
const RANDOM_TCP_PORTS = { first: 20_000, last: 29_999 }

/** The assignable ports that are allowed; if there is none, all allowed ones. */
export function randomPorts({ tcp_ports: allowed }: Pick<Settings, 'tcp_ports'>): {
  first: number
  last: number
} {
  const first = Math.max(RANDOM_TCP_PORTS.first, allowed.first)
  const last = Math.min(RANDOM_TCP_PORTS.last, allowed.last)
  return first <= last ? { first, last } : allowed
}
