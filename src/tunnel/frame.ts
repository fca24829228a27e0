export const HEADER_BYTES = 8
/** The initial window of either side; fixed by the protocol. */
export const INITIAL_WINDOW = 262_144
export const MAX_ID = 0x7fff_ffff
/** The largest frame body we write: large enough for bulk, small enough for fairness. */
export const MAX_FRAME = 65_536
/** A stream id that is never opened. Credit for it is ignored by every agent, which makes it a harmless keep-alive. */
export const NUDGE_ID = 0x7fff_fffe

export const frameTypes = { rst: 0, data: 1, wndinc: 2, goaway: 3 } as const
export const FIN = 1
export const SYN = 2

/** Error codes of RST and GOAWAY. */
export const errorCodes = {
  none: 0,
  protocol: 1,
  internal: 2,
  flow_control: 3,
  stream_closed: 4,
  stream_refused: 5,
  stream_cancelled: 6,
  stream_reset: 7,
  frame_size: 8,
  accept_queue_full: 9,
  enhance_your_calm: 10,
  remote_gone_away: 11,
  streams_exhausted: 12,
  write_timeout: 13,
  session_closed: 14,
  peer_eof: 15,
  unknown: 0xff,
} as const

export type TunnelErrorCode = keyof typeof errorCodes

const names = new Map<number, TunnelErrorCode>(
  Object.entries(errorCodes).map(([name, code]) => [code, name as TunnelErrorCode]),
)

/** The name of a code from a peer; peers may use unlisted numbers. */
export const errorName = (code: number): TunnelErrorCode => names.get(code) ?? 'unknown'

/** Why a stream or a session ended abnormally. */
export class TunnelError extends Error {
  override readonly name = 'TunnelError'
  readonly code: TunnelErrorCode

  constructor(code: TunnelErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
  }
}

const sessionLost: ReadonlySet<TunnelErrorCode> = new Set(['session_closed', 'peer_eof', 'remote_gone_away'])

/** Whether a stream ended because its connection did. */
export const isSessionLost = (error: unknown): boolean =>
  error instanceof TunnelError && sessionLost.has(error.code)

/** Writes the 8 bytes of a header: length (24 bit), type and flags (4 bit each), stream id. */
export function putHeader(target: Uint8Array, at: number, length: number, kind: number, id: number): void {
  target[at] = length >>> 16
  target[at + 1] = length >>> 8
  target[at + 2] = length
  target[at + 3] = kind
  putWord(target, at + 4, id)
}

export function putWord(target: Uint8Array, at: number, value: number): void {
  target[at] = value >>> 24
  target[at + 1] = value >>> 16
  target[at + 2] = value >>> 8
  target[at + 3] = value
}

export function encodeGoaway(lastId: number, code: TunnelErrorCode, text: string): Buffer {
  const bytes = Buffer.from(text)
  const fixed = Buffer.allocUnsafe(HEADER_BYTES + 8)
  putHeader(fixed, 0, 8 + bytes.length, frameTypes.goaway << 4, 0)
  putWord(fixed, HEADER_BYTES, lastId)
  putWord(fixed, HEADER_BYTES + 4, errorCodes[code])
  return Buffer.concat([fixed, bytes])
}
