import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'

const MOUNT = '/dev/shm'
const TMPFS_MAGIC = 0x01021994
/** Several times what all tests use at once. */
const NEEDED_BYTES = 4 * 2 ** 30

/**
 * A temporary folder in memory, which is gone with this process: a commit of SQLite takes 2 ms on a disk, and 50 us
 * here. Undefined where there is not enough memory, where programs in it cannot run, or where TMPDIR names a folder.
 */
export function memoryFolder(env: NodeJS.ProcessEnv): string | undefined {
  if (env['TMPDIR'] !== undefined || process.platform !== 'linux' || !isSuitable()) return undefined
  const folder = mkdtempSync(`${MOUNT}/adit-`)
  // As /tmp: PostgreSQL runs as a user of its own.
  chmodSync(folder, 0o1777)
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function isSuitable(): boolean {
  try {
    const { type, bavail, bsize } = statfsSync(MOUNT)
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n')
    const options = mounts.findLast(line => line.split(' ')[1] === MOUNT)?.split(' ')[3] ?? 'noexec'
    return type === TMPFS_MAGIC && bavail * bsize >= NEEDED_BYTES && !options.split(',').includes('noexec')
  } catch {
    return false
  }
}
