/** Limits of one connection. */
export interface Http2Limits {
  /** Requests at the same time. */
  readonly streams: number
  /** Bytes that the peer may send on one stream before its reader takes any: they may all be buffered. */
  readonly streamWindow: number
  readonly connectionWindow: number
  /** Bytes of all streams that wait for their readers; beyond them the connection gets no credit. */
  readonly unreadBytes: number
  /** Bytes of a decoded header list, by the measure of RFC 9113 §6.5.2, and its fields. */
  readonly listBytes: number
  readonly fields: number
  /** Bytes of an encoded header block, and frames after the first. */
  readonly blockBytes: number
  readonly continuations: number
  /** Entries in one SETTINGS frame. */
  readonly settings: number
  /** For the acknowledgement of our settings. */
  readonly settingsMs: number
  /** Without any request. */
  readonly idleMs: number
  /** For requests that may be in flight when the connection is drained. */
  readonly drainMs: number
  /** Without the peer reading any of what waits for it. */
  readonly stalledMs: number
  /** A client may leave this many responses unread for this long, because it may open many streams. */
  readonly fewStalled: number
  readonly fewStalledMs: number
  /** For the peer to close after our GOAWAY. */
  readonly closeMs: number
}

export const defaultLimits: Http2Limits = {
  streams: 100,
  streamWindow: 256 * 1024,
  connectionWindow: 1024 * 1024,
  unreadBytes: 4 * 1024 * 1024,
  listBytes: 65_536,
  fields: 256,
  blockBytes: 81_920,
  continuations: 64,
  settings: 32,
  settingsMs: 10_000,
  idleMs: 75_000,
  drainMs: 1000,
  stalledMs: 60_000,
  fewStalled: 32,
  fewStalledMs: 5000,
  closeMs: 1000,
}
