import { styleText } from 'node:util'

const levels = {
  debug: { word: 'DBG', style: 'dim' },
  info: { word: 'INF', style: 'green' },
  warn: { word: 'WRN', style: 'yellow' },
  error: { word: 'ERR', style: 'red' },
} as const

interface Entry {
  readonly level: keyof typeof levels
  readonly time: string
  readonly msg?: string
}

const PLAIN = /^[^\s"=]+$/
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** A log line of JSON for people, such as `15:04:05 INF agent signed in session=ts_...`; stacks are below it. */
export function terminalLine(json: string, isColoured: boolean): string {
  const { level, time, msg = '', ...fields } = JSON.parse(json) as Entry
  const styled = (style: Parameters<typeof styleText>[0], text: string): string =>
    isColoured ? styleText(style, text, { validateStream: false }) : text
  const { word, style } = levels[level]
  const stacks: string[] = []
  const facts = Object.entries(fields).map(
    ([name, value]) => ` ${styled('dim', `${name}=`)}${shown(value, stacks)}`,
  )
  const clock = new Date(time).toTimeString().slice(0, 8)
  const line = `${styled('dim', clock)} ${styled(style, word)} ${safe(msg)}${facts.join('')}`
  return [line, ...stacks.map(each => `  ${safe(each)}`), ''].join('\n')
}

/** A field; the stacks of errors in it are moved to a list of lines. */
function shown(value: unknown, stacks: string[]): string {
  if (typeof value === 'string' && PLAIN.test(value)) return safe(value)
  const text = JSON.stringify(value, (key, inner: unknown) => {
    if (key !== 'stack' || typeof inner !== 'string') return inner
    stacks.push(...inner.split('\n').slice(1))
    return undefined
  })
  return safe(text)
}

/** Clients choose parts of some messages; control characters could redraw the screen. */
const safe = (text: string): string =>
  text.replaceAll(HIDDEN, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
