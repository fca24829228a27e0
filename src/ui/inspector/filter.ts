import type { Summary } from '#ui/captured.ts'

type Test = (summary: Summary) => boolean

const NANOSECONDS = 1_000_000

/** Fields by which the list can be filtered, as `field:value`. */
const fields: Readonly<Record<string, (value: string) => Test>> = {
  method:
    value =>
    ({ method }) =>
      method.toLowerCase() === value,
  path:
    value =>
    ({ uri }) =>
      uri.toLowerCase().includes(value),
  tunnel:
    value =>
    ({ tunnel_name: name }) =>
      name.toLowerCase().includes(value),
  status: value => {
    const pattern = new RegExp(`^${value.replaceAll(/[^\dx]/g, '').replaceAll('x', '\\d')}`)
    return ({ status_code: status }) => status !== null && pattern.test(String(status))
  },
  duration: value =>
    comparison(value, ({ duration }) => (duration === null ? undefined : duration / NANOSECONDS)),
  size: value => comparison(value, ({ response_size: size }) => size),
  is:
    value =>
    ({ replay_of: original, duration }) =>
      value === 'replay' ? original !== null : value === 'open' ? duration === null : true,
}

/** `>500`, `<10` or a number, in milliseconds or bytes. */
function comparison(value: string, of: (summary: Summary) => number | undefined): Test {
  const [, sign = '', digits = ''] = /^([<>]?)(\d+(?:\.\d+)?)/.exec(value) ?? []
  const limit = Number(digits)
  return summary => {
    const found = of(summary)
    if (found === undefined || digits === '') return false
    if (sign === '>') return found > limit
    return sign === '<' ? found < limit : Math.round(found) === limit
  }
}

/**
 * Parses a filter: words that must all match, each `text`, `field:value` or either with `-` before it. A word without a
 * field is searched in method, path and status.
 */
export function filterOf(text: string): Test {
  const tests = text
    .toLowerCase()
    .split(/\s+/)
    .filter(word => word !== '' && word !== '-')
    .map(testOf)
  return summary => tests.every(test => test(summary))
}

function testOf(word: string): Test {
  if (word.startsWith('-')) {
    const inner = testOf(word.slice(1))
    return summary => !inner(summary)
  }
  const [, name = '', value = ''] = /^([a-z]+):(.*)$/.exec(word) ?? []
  const field = Object.hasOwn(fields, name) ? fields[name] : undefined
  // A field without a value yet excludes nothing.
  if (field) return value === '' ? () => true : field(value)
  return ({ method, uri, status_code: status }) =>
    `${method} ${uri} ${status ?? ''}`.toLowerCase().includes(word)
}
