import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dataFolder, runningServer } from '#base/running-server.ts'

const TIMEOUT_MS = 3000

/** The management API's record of a request, or why it is not available. */
type GatewayReason =
  | { readonly available: true; readonly request: unknown }
  | { readonly available: false; readonly reason: string }

export async function gatewayReason(
  requestId: string,
  environment: NodeJS.ProcessEnv,
): Promise<GatewayReason> {
  const { url, key } = connection(environment)
  if (!url || !key) return unavailable('set ADIT_API_URL and ADIT_API_KEY for the agent')
  try {
    const response = await fetch(`${url}/requests/${encodeURIComponent(requestId)}`, {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (response.ok) return { available: true, request: await response.json() }
    return unavailable(`${url} responded with status ${response.status}`)
  } catch {
    return unavailable(`${url} does not respond`)
  }
}

/**
 * The API of the environment, or of a server with a local data folder. `adit api` also reads the server's settings for
 * this, which are not part of the agent's package.
 */
function connection(environment: NodeJS.ProcessEnv) {
  const folder = dataFolder(environment)
  return {
    url: environment['ADIT_API_URL'] ?? runningServer(folder)?.api_url,
    key: environment['ADIT_API_KEY'] ?? keyIn(folder),
  }
}

function keyIn(folder: string): string | undefined {
  try {
    return readFileSync(join(folder, 'api-key'), 'utf8').trim()
  } catch {
    return undefined
  }
}

const unavailable = (reason: string): GatewayReason => ({ available: false, reason })
