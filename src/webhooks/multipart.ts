const BOUNDARY = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i
const NAME = /^content-disposition:\s*form-data\s*;(?:[^\r\n]*;)?\s*name="([^"\r\n]{1,100})"[^\r\n]*$/im
const MAX_PARTS = 500
const MAX_HEAD = 1024
const MAX_VALUE = 1024

/**
 * The short fields of a multipart form, the first of each name. Parsing all of it would be work that any client could
 * cause: ten mebibytes of small parts take seconds.
 */
export function partsOf(body: Buffer, mediaType: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const [, quoted, plain] = BOUNDARY.exec(mediaType) ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined) return found
  const between = Buffer.from(`\r\n--${boundary}`)
  let start = body.indexOf(between.subarray(2))
  for (let count = 0; start !== -1 && count < MAX_PARTS; count++) {
    const next = body.indexOf(between, start)
    if (next === -1) break
    readPart(body.subarray(start, next), found)
    start = next + 2
  }
  return found
}

/** A part begins with its boundary, and an empty line ends its head. */
function readPart(part: Buffer, found: Map<string, string>): void {
  const head = part.subarray(0, MAX_HEAD).toString()
  const end = head.indexOf('\r\n\r\n')
  if (end === -1) return
  const name = NAME.exec(head.slice(0, end))?.[1]
  const value = part.subarray(Buffer.byteLength(head.slice(0, end)) + 4)
  if (name !== undefined && !found.has(name) && value.length <= MAX_VALUE) found.set(name, value.toString())
}
