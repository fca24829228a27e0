import { randomBytes } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  statSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { MASTER_KEY_BYTES, Secret } from '#base/secrets.ts'
import { masterKey, SettingError } from '#base/setting-values.ts'
import { type Settings } from '#base/settings.ts'
import { StartError } from '#base/start-error.ts'

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Ensures that the data folder exists, is private, and can be written. */
export function prepareDataFolder(path: string): void {
  try {
    makeFolder(path)
    if (!statSync(path).isDirectory()) throw Object.assign(new Error(path), { code: 'ENOTDIR' })
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new StartError(
      `the data folder ${path} (ADIT_DATA_DIR) cannot be used: ${folderReason(error)}. Choose a folder that this user can write, with ADIT_DATA_DIR`,
    )
  }
}

/** One after the other: recursively, Node hangs on a path such as /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) return
  const parent = dirname(path)
  if (parent !== path) makeFolder(parent)
  mkdirSync(path, { mode: 0o700 })
}

function folderReason(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOTDIR' || code === 'EEXIST') return 'it is a file, or lies below one'
  return code === 'EACCES' || code === 'EPERM' ? `this user may not write there (${code})` : reasonOf(error)
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new StartError(`${path} cannot be read: ${reasonOf(error)}`)
  }
}

/** Stores a secret in the data folder, readable only by its owner. */
export function keepSecret(folder: string, name: string, secret: Secret): void {
  const path = join(folder, name)
  try {
    writeFileSync(path, `${secret.reveal()}\n`, { mode: 0o600, flush: true })
    chmodSync(path, 0o600)
  } catch (error) {
    throw new StartError(`${path} cannot be written: ${reasonOf(error)}`)
  }
}

/** Deletes a secret that is not needed. */
export const forgetSecret = (folder: string, name: string): void =>
  rmSync(join(folder, name), { force: true })

/** A stored secret, if there is one. */
export function keptSecret(folder: string, name: string): Secret | undefined {
  const text = readIfThere(join(folder, name))
  return text === undefined || text === '' ? undefined : new Secret(text)
}

/** The master key: from a setting, from a file, or the stored one; undefined when there is none yet. */
export function findMasterKey(settings: Settings): Secret | undefined {
  const { master_key: key, master_key_file: file, data_dir: folder } = settings
  if (key && file !== undefined) throw new StartError('set ADIT_MASTER_KEY or ADIT_MASTER_KEY_FILE, not both')
  if (key) return key
  return file === undefined ? fromFile(join(folder, 'master.key')) : (fromFile(file) ?? notThere(file))
}

/** Creates the key at the first start and stores it. */
export function makeMasterKey(settings: Settings): Secret {
  const made = new Secret(randomBytes(MASTER_KEY_BYTES).toString('base64'))
  keepSecret(settings.data_dir, 'master.key', made)
  return made
}

const notThere = (file: string): never => {
  throw new StartError(`the master key file ${file} (ADIT_MASTER_KEY_FILE) does not exist`)
}

function fromFile(path: string): Secret | undefined {
  const text = readIfThere(path)
  if (text === undefined) return undefined
  try {
    return masterKey(text)
  } catch (error) {
    if (!(error instanceof SettingError)) throw error
    throw new StartError(`the master key in ${path} must be ${error.message}`)
  }
}
