export interface ByteRange {
  readonly first: number
  readonly last: number
}

/**
 * The single range of a Range header. Undefined: the whole file, because the header has another form (RFC 9110 §14.2
 * allows ignoring it). `unsatisfiable`: nothing of the file is in it.
 */
export function byteRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? []
  if (from === '' && to === '') return undefined
  if (from === '') {
    const first = Math.max(0, size - Number(to))
    return first >= size ? 'unsatisfiable' : { first, last: size - 1 }
  }
  const [first, last] = [Number(from), to === '' ? size - 1 : Math.min(Number(to), size - 1)]
  if (to !== '' && Number(to) < first) return undefined
  return first >= size ? 'unsatisfiable' : { first, last }
}
