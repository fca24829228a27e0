import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'

/** A file, folder or link of an archive. Owner and time are the same in every build. */
export interface Entry {
  readonly path: string
  readonly mode: number
  readonly content?: Buffer
  /** The target of a symbolic link. */
  readonly link?: string
  readonly owner?: number
}

/** The time of every entry: two builds of the same source have the same bytes. */
export const EPOCH = new Date('1985-10-26T08:15:00.000Z')

export const file = (path: string, content: Buffer | string, mode = 0o644): Entry => ({
  path,
  mode,
  content: Buffer.from(content),
})

export const folder = (path: string, mode = 0o755, owner = 0): Entry => ({ path, mode, owner })

export async function tar(entries: readonly Entry[]): Promise<Buffer> {
  const archive = pack()
  const bytes = buffer(archive)
  for (const { path, mode, content, link, owner = 0 } of entries) {
    const type = link !== undefined ? 'symlink' : content ? 'file' : 'directory'
    const header = { name: path, mode, mtime: EPOCH, uid: owner, gid: owner, type } as const
    archive.entry(link === undefined ? header : { ...header, linkname: link }, content ?? Buffer.alloc(0))
  }
  archive.finalize()
  return bytes
}

export const tarGz = async (entries: readonly Entry[]): Promise<Buffer> =>
  gzipSync(await tar(entries), { level: 9 })

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
