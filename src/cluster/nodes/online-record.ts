import type { SessionRecord, TunnelRecord } from '#registry/directory.ts'
import { type BindOptions, defaultOptions, withoutDefaults } from '#tunnel/messages.ts'

/** The form of a tunnel in the database: without the options that have their defaults, as most have. */
export const tunnelText = (record: TunnelRecord): string =>
  JSON.stringify({ ...record, options: withoutDefaults(record.options) })

export const readTunnel = (text: string): TunnelRecord => withOptions(JSON.parse(text) as StoredTunnel)

export const sessionText = (record: SessionRecord): string => JSON.stringify(record)

export const readSession = (text: string): SessionRecord => JSON.parse(text) as SessionRecord

/** A record that the database does not have yet, in the form in which it is read back: then nothing has changed. */
export const asStoredTunnel = (record: TunnelRecord): TunnelRecord => readTunnel(tunnelText(record))
export const asStoredSession = (record: SessionRecord): SessionRecord => readSession(sessionText(record))

/** As read from JSON, where a record of an earlier version has all options. */
type StoredTunnel = Omit<TunnelRecord, 'options'> & { options: Partial<BindOptions> }

/** Completes the record itself: a node reads many of them when it starts. Those without options share the defaults. */
export function withOptions(record: StoredTunnel): TunnelRecord {
  record.options = isEmpty(record.options) ? defaultOptions : { ...defaultOptions, ...record.options }
  return record as TunnelRecord
}

function isEmpty(options: object): boolean {
  for (const _ in options) return false
  return true
}
