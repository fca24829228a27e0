/** The log line format of the hosted agent, which wrappers parse. */
export type LineFormat = 'logfmt' | 'json' | 'term'
export type LineLevel = 'dbug' | 'info' | 'warn' | 'eror' | 'crit'
export type LineFields = Readonly<Record<string, string | number>>

interface LogLine {
  readonly time: Date
  readonly level: LineLevel
  readonly msg: string
  readonly fields: LineFields
}

const pad = (value: number): string => String(value).padStart(2, '0')

/** `2026-09-10T05:46:45+0100`: local time, with an offset without a colon. */
function localTime(time: Date): string {
  const offset = -time.getTimezoneOffset()
  const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60]
  const local = new Date(time.getTime() + offset * 60_000).toISOString().slice(0, 19)
  return `${local}${offset < 0 ? '-' : '+'}${pad(hours)}${pad(minutes)}`
}

/** Readers split lines like a shell, so quotes must be balanced. */
const isPlain = (text: string): boolean => /^[\x21\x23-\x26\x28-\x3c\x3e-\x5b\x5d-\x7e]+$/.test(text)
const escapeControl = (text: string): string =>
  text.replaceAll(/[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu, character =>
    Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
      .map(code => `\\u${code.toString(16).padStart(4, '0')}`)
      .join(''),
  )
const word = (value: string | number): string =>
  isPlain(String(value)) ? String(value) : escapeControl(JSON.stringify(String(value)))

const pairs = (fields: LineFields): string =>
  Object.entries(fields)
    .map(([name, value]) => ` ${name}=${word(value)}`)
    .join('')

function jsonLine({ time, level, msg, fields }: LogLine): string {
  const all: LineFields = { ...fields, lvl: level, msg, t: time.toISOString() }
  const sorted = Object.entries(all).toSorted(([left], [right]) => (left < right ? -1 : 1))
  return escapeControl(JSON.stringify(Object.fromEntries(sorted)))
}

const writers: Readonly<Record<LineFormat, (line: LogLine) => string>> = {
  logfmt: ({ time, level, msg, fields }) =>
    `t=${localTime(time)} lvl=${level} msg=${word(msg)}${pairs(fields)}`,
  json: jsonLine,
  term: ({ time, level, msg, fields }) =>
    `${time.toTimeString().slice(0, 8)} ${level.toUpperCase()} ${escapeControl(msg)}${pairs(fields)}`,
}

/** The line, with its end. */
export const writtenLine = (line: LogLine, format: LineFormat): string => `${writers[format](line)}\n`
