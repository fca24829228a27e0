import { readFileSync } from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { isAbsolute } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Node reads the stack of every failed write, and to parse a map for a client that went away would stop all others. */
const LOST_PEER = new Set(['EPIPE', 'ECONNRESET', 'ECONNABORTED', 'ETIMEDOUT'])

/** A parsed map takes up to 70 MB, and to parse it 0.1 s. */
const KEPT_MS = 600_000

/**
 * Shows the places of the sources in stack traces of a bundle. The option of Node parses all maps when it loads the
 * files, which takes 13 MB; here a map is parsed when an error of its file is printed.
 */
export function mapStackTraces(): void {
  const maps = new Map<string, SourceMap | undefined>()
  const mapOf = (file: string): SourceMap | undefined => {
    if (!maps.has(file)) {
      maps.set(file, readMap(file))
      setTimeout(() => maps.delete(file), KEPT_MS).unref()
    }
    return maps.get(file)
  }
  Error.prepareStackTrace = (error: NodeJS.ErrnoException, sites) => {
    const place = LOST_PEER.has(error.code ?? '') ? String : (site: Site) => placeOf(site, mapOf)
    return [String(error), ...sites.map(site => `    at ${place(site)}`)].join('\n')
  }
}

/** Also prints itself as in a stack trace, which its type does not say. */
interface Site extends NodeJS.CallSite {
  toString(): string
}

function placeOf(site: Site, mapOf: (file: string) => SourceMap | undefined): string {
  const text = site.toString()
  const url = site.getFileName()
  const [line, column] = [site.getLineNumber(), site.getColumnNumber()]
  if (url == null || line === null || column === null) return text
  // A CommonJS bundle has a path in place of the address.
  const file = url.startsWith('file:') ? fileURLToPath(url) : url
  if (!isAbsolute(file)) return text
  const found = mapOf(file)?.findEntry(line - 1, column - 1)
  if (found === undefined || !('originalSource' in found)) return text
  // From the root of the repository: where the bundle was made does not matter.
  const source = found.originalSource.replace(/^(\.\.\/)+/, '')
  return text.replace(
    `${url}:${line}:${column}`,
    () => `${source}:${found.originalLine + 1}:${found.originalColumn + 1}`,
  )
}

function readMap(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')) as SourceMapPayload)
  } catch {
    return undefined
  }
}
