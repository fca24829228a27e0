import { isPlainObject } from '#base/plain-object.ts'
import { parseHostPort } from '#base/hosts.ts'

/** The form of a value, as a flag and in YAML. Both give a raw value, which is parsed in one place. */
export interface ValueForm<Value> {
  /** The words after "must be". */
  readonly what: string
  /** Its placeholder in the help; empty for a switch. */
  readonly placeholder: string
  /** The raw value of a repeated flag. */
  readonly fromFlag: (texts: readonly string[]) => unknown
  /** The flag names a file with the value. */
  readonly flagNamesFile?: true
  /** Undefined when the raw value is invalid. */
  readonly read: (raw: unknown) => Value | undefined
  /** What means none where a value must be sent. */
  readonly empty?: unknown
}

const last = (texts: readonly string[]): string => texts.at(-1) ?? ''
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const isLine = (raw: unknown): raw is string => typeof raw === 'string' && !/[\u0000-\u001f\u007f]/.test(raw)

export const text = (placeholder: string, what = 'text'): ValueForm<string> => ({
  what,
  placeholder: `<${placeholder}>`,
  fromFlag: last,
  read: raw => (isLine(raw) && raw !== '' ? raw : undefined),
  empty: '',
})

/** `host:port`. */
export const hostPort: ValueForm<string> = {
  what: 'host:port',
  placeholder: '<host:port>',
  fromFlag: last,
  read: raw => {
    const port = typeof raw === 'string' ? parseHostPort(raw)?.port : undefined
    return typeof raw === 'string' && port !== undefined && port > 0 && port < 65_536 ? raw : undefined
  },
}

/** A secret. Other users of the machine see command lines, so the flag names a file with it. */
export const secretLine: ValueForm<string> = {
  ...text('file', 'one line of text; the flag takes a file with it'),
  flagNamesFile: true,
}

/** Text that is often only a number, which YAML parses as one. */
export const address = (placeholder: string, what: string): ValueForm<string> => ({
  what,
  placeholder: `<${placeholder}>`,
  fromFlag: last,
  read: raw => text(placeholder).read(typeof raw === 'number' ? String(raw) : raw),
})

export const choice = <const Word extends string | number>(words: readonly Word[]): ValueForm<Word> => ({
  what: `one of ${words.join(', ')}`,
  placeholder: `<${words.join('|')}>`,
  fromFlag: last,
  read: raw => words.find(word => word === raw || (typeof raw === 'string' && String(word) === raw)),
})

/** A part of the whole. */
export const share: ValueForm<number> = {
  what: 'a number from 0 to 1',
  placeholder: '<share>',
  fromFlag: last,
  read: raw => {
    const value = typeof raw === 'string' && raw.trim() !== '' ? Number(raw) : raw
    return typeof value === 'number' && value >= 0 && value <= 1 ? value : undefined
  },
}

export const list = (
  placeholder: string,
  what: string,
  isItem: (text: string) => boolean = item => item !== '',
): ValueForm<readonly string[]> => ({
  what,
  placeholder: `<${placeholder}>`,
  fromFlag: texts => texts,
  read: raw => (Array.isArray(raw) && raw.every(item => isLine(item) && isItem(item)) ? raw : undefined),
  empty: [],
})

/** Words out of a few; as a flag also comma-separated. */
export const choices = <const Word extends string>(words: readonly Word[]): ValueForm<readonly Word[]> => ({
  what: `a list of ${words.join(' and ')}`,
  placeholder: `<${words.join(',')}>`,
  fromFlag: texts => texts.flatMap(each => each.split(',')),
  read: raw => {
    const items = [raw].flat().map(item => words.find(word => word === item))
    return items.length > 0 && items.every(item => item !== undefined) ? [...new Set(items)] : undefined
  },
})

/** `name=value`, or in YAML a map. */
export const pairs: ValueForm<Readonly<Record<string, string>>> = {
  what: 'a map of names to values; the flag takes name=value',
  placeholder: '<name=value>',
  fromFlag: texts => {
    const found = texts.map(each => /^([^=]+)=(.*)$/s.exec(each)?.slice(1))
    return found.every(pair => pair !== undefined) ? Object.fromEntries(found) : undefined
  },
  read: raw => {
    if (!isPlainObject(raw)) return undefined
    const entries = Object.entries(raw).map(([name, value]) => [name, String(value)] as const)
    const isFlat = Object.values(raw).every(value => ['string', 'number', 'boolean'].includes(typeof value))
    return isFlat && entries.length > 0 ? Object.fromEntries(entries) : undefined
  },
}

const switchWords = new Map<string, boolean>([
  ['true', true],
  ['on', true],
  ['1', true],
  ['false', false],
  ['off', false],
  ['0', false],
])

/** The value of a word after a switch; undefined when it is not one. */
const switchWord = (word: string): boolean | undefined => switchWords.get(word.toLowerCase())

/** A switch: on by its flag alone, or by its value after "=". */
export const yesNo: ValueForm<boolean> = {
  what: 'true or false',
  placeholder: '[true|false]',
  fromFlag: texts => switchWord(last(texts)),
  read: raw => (typeof raw === 'boolean' ? raw : undefined),
}

/** The same, with the words on and off in YAML too. */
export const onOff: ValueForm<boolean> = {
  ...yesNo,
  what: 'on or off',
  placeholder: '[on|off]',
  read: raw => (typeof raw === 'string' ? switchWord(raw) : yesNo.read(raw)),
}
