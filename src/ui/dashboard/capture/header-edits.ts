interface HeaderField {
  readonly name: string
  readonly value: string
}

interface HeaderEdit {
  readonly name: string
  /** Null removes all headers of this name. */
  readonly value: string | null
}

/** Headers that follow from the connection and the body. */
const COMPUTED = new Set(['content-length', 'transfer-encoding', 'connection'])

/** One header per line, for a text field. */
export const headerText = (headers: readonly HeaderField[]): string =>
  headers
    .filter(({ name }) => !COMPUTED.has(name.toLowerCase()) && !name.startsWith(':'))
    .map(({ name, value }) => `${name}: ${value}`)
    .join('\n')

function readHeaders(text: string): HeaderField[] {
  return text.split('\n').flatMap(line => {
    const colon = line.indexOf(':', 1)
    return colon < 1 ? [] : [{ name: line.slice(0, colon).trim(), value: line.slice(colon + 1).trim() }]
  })
}

const grouped = (text: string): Map<string, HeaderField[]> =>
  Map.groupBy(readHeaders(text), ({ name }) => name.toLowerCase())

/** What differs between two texts of headers. Unchanged names are left out: the server knows the masked values. */
export function headerEdits(before: string, after: string): HeaderEdit[] {
  const [old, now] = [grouped(before), grouped(after)]
  const same = (name: string): boolean =>
    JSON.stringify(old.get(name)?.map(({ value }) => value)) ===
    JSON.stringify(now.get(name)?.map(({ value }) => value))
  return [...new Set([...old.keys(), ...now.keys()])]
    .filter(name => !same(name))
    .flatMap(
      (name): readonly HeaderEdit[] =>
        now.get(name) ?? [{ name: old.get(name)?.[0]?.name ?? name, value: null }],
    )
}
