import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSettings } from '#base/read-settings.ts'
import { runningServer } from '#base/running-server.ts'
import { Secret } from '#base/secrets.ts'
import type { Settings } from '#base/settings.ts'
import { NoKeyError, UsageError } from '#cli/failure.ts'

export interface ConnectionOptions {
  readonly url?: string
  readonly keyFile?: string
}

interface ApiConnection {
  readonly url: string
  readonly token: Secret
}

/** The server's settings that determine its URL. Errors in others are ignored here. */
const VARIABLES = ['ADIT_CONFIG', 'ADIT_API_URL', 'ADIT_API_ADDR', 'ADIT_API_KEY', 'ADIT_DATA_DIR']

/** The URL and the key: on the server's machine and in its folder no options are needed. */
export function findConnection(options: ConnectionOptions, environment: NodeJS.ProcessEnv): ApiConnection {
  const relevant = Object.fromEntries(VARIABLES.map(name => [name, environment[name]]))
  const settings = readSettings(new Map(), relevant)
  return {
    url: options.url ?? settings.api_url ?? runningServer(settings.data_dir)?.api_url ?? localUrl(settings),
    token: findKey(options, settings),
  }
}

function localUrl({ api_addr: address }: Settings): string {
  if (!address) throw new UsageError('the API is disabled here; set its URL with --url')
  const anywhere = address.host === '0.0.0.0' || address.host === '::'
  const host = anywhere ? '127.0.0.1' : address.host
  return `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`
}

function findKey({ keyFile }: ConnectionOptions, settings: Settings): Secret {
  if (keyFile !== undefined) return keyIn(keyFile)
  return settings.api_key ?? keyIn(join(settings.data_dir, 'api-key'))
}

function keyIn(path: string): Secret {
  const key = readIfPossible(path)
  if (/^[\x21-\x7e]+$/.test(key)) return new Secret(key)
  throw new NoKeyError(
    `there is no API key in ${path}; set ADIT_API_KEY, name a file with --key-file, or run this in the folder ` +
      'where the server runs',
  )
}

function readIfPossible(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw new NoKeyError(
      `the key file ${path} cannot be read: ${error instanceof Error ? error.message : ''}`,
    )
  }
}
