import { createHash } from 'node:crypto'

/** Offered by Adit agents: both ends then know that windows may be larger than other agents support. */
export const OWN_ALPN = 'adit-tunnel/1'

/**
 * Also offered by an agent that already has a connection to this gateway process and needs another one: so this process
 * can reject it before the handshake. The hash makes any name fit.
 */
export const elsewhereAlpn = (node: string): string =>
  `adit-not/${createHash('sha256').update(node).digest('hex').slice(0, 16)}`
