import { createHash } from 'node:crypto'

/** Offered by our own agent: both ends then know that windows may grow beyond what other agents bear. */
export const OWN_ALPN = 'adit-tunnel/1'

/**
 * Offered too by an agent that has a connection to this process of a gateway already and wants its other one with
 * another process: so this one can send it away before the work of a handshake. The hash makes any name fit.
 */
export const elsewhereAlpn = (node: string): string =>
  `adit-not/${createHash('sha256').update(node).digest('hex').slice(0, 16)}`
