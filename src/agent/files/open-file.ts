import { constants, type Stats } from 'node:fs'
import { lstat, open, realpath, type FileHandle } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'

export interface OpenedFile {
  readonly handle: FileHandle
  readonly stats: Stats
  /** Of the file that is sent; its name determines the type. */
  readonly path: string
}

/** A folder requested without the trailing slash. */
interface Redirect {
  readonly redirect: string
}

const INDEX = 'index.html'
// Opening a pipe would wait for a writer.
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** Names that begin with a dot contain settings and secrets, such as .env and .git. */
const isHidden = (part: string): boolean => part.startsWith('.') && part !== '.well-known'

/** The segments of a URL path; undefined if it cannot be a served file. */
function partsOf(pathname: string): string[] | undefined {
  let decoded: string
  try {
    decoded = decodeURIComponent(pathname)
  } catch {
    return undefined
  }
  // oxlint-disable-next-line no-control-regex -- a NUL ends paths in the system
  if (/[\\\u0000]/.test(decoded)) return undefined
  const parts = decoded.split('/').filter(part => part !== '')
  return parts.some(isHidden) ? undefined : parts
}

/** Whether a path without links is in the folder, and no part of it is hidden. */
function isInside(root: string, path: string): boolean {
  const inner = relative(root, path)
  if (inner === '') return true
  const parts = inner.split(sep)
  return parts[0] !== '..' && !parts.some(isHidden) && join(root, inner) === path
}

/**
 * Opens the file of a URL path. `root` has no links in it. Undefined: it does not exist, is hidden, is outside of the
 * folder or is neither a file nor a folder with an index.
 */
export async function openFile(root: string, pathname: string): Promise<OpenedFile | Redirect | undefined> {
  const parts = partsOf(pathname)
  if (parts === undefined) return undefined
  const path = await resolved(root, join(root, ...parts))
  if (path === undefined) return undefined
  const found = await lstat(path).catch(() => undefined)
  if (found?.isDirectory() !== true) return pathname.endsWith('/') ? undefined : opened(root, path)
  if (!pathname.endsWith('/')) return { redirect: `${encodeURIComponent(parts.at(-1) ?? '')}/` }
  const index = await resolved(root, join(path, INDEX))
  return index === undefined ? undefined : opened(root, index)
}

/** The path without links, if it is in the folder. */
async function resolved(root: string, path: string): Promise<string | undefined> {
  const real = await realpath(path).catch(() => undefined)
  return real !== undefined && isInside(root, real) ? real : undefined
}

async function opened(root: string, path: string): Promise<OpenedFile | undefined> {
  const handle = await open(path, READ).catch(() => undefined)
  if (handle === undefined) return undefined
  const stats = await handle.stat()
  // A parent folder may have been replaced by a link since it was resolved.
  const [again, now] = await Promise.all([resolved(root, path), lstat(path).catch(() => undefined)])
  const isSame = again === path && now?.ino === stats.ino && now.dev === stats.dev
  if (isSame && stats.isFile()) return { handle, stats, path }
  await handle.close()
  return undefined
}
