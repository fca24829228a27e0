import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Settings } from '#base/settings.ts'
import { StartError } from '#base/start-error.ts'

interface ApiSocket extends Disposable {
  /** Undefined: the gateway does not serve the API. */
  readonly path: string | undefined
}

/**
 * A path for the socket between gateway and API, in a folder that only this user can open. In a given one it is the same
 * for the next process.
 */
export function newApiSocket(
  { api_https: isOn, https_addr: https }: Settings,
  given: string | undefined,
): ApiSocket {
  if (!isOn) return { path: undefined, [Symbol.dispose]: () => undefined }
  if (https === undefined)
    throw new StartError('ADIT_API_HTTPS needs the HTTPS listener: set ADIT_HTTPS_ADDR, or turn it off.')
  // Named pipes are open to other users.
  if (process.platform === 'win32')
    throw new StartError('ADIT_API_HTTPS needs Unix sockets, which Windows does not have: turn it off.')
  const folder = given ?? mkdtempSync(join(tmpdir(), 'adit-'))
  const path = join(folder, 'api.sock')
  // Of an earlier process that was killed.
  rmSync(path, { force: true })
  return {
    path,
    [Symbol.dispose]: () => rmSync(given === undefined ? folder : path, { recursive: true, force: true }),
  }
}
