import { Command } from 'commander'
import { dataFolder, runningServer } from '#base/running-server.ts'
import { CommandError, exitCodes } from '#cli/failure.ts'

const TIMEOUT_MS = 4000

/** `adit ready`: a health check for containers and scripts, without further programs. */
export function readyCommand(): Command {
  return new Command('ready')
    .description('Check that the server on this machine is ready.')
    .option('--data-dir <folder>', 'data folder of the server (ADIT_DATA_DIR, default ./data)')
    .addHelpText('after', `\nExit codes: 0 ready, ${exitCodes.unavailable} not ready or not running.`)
    .action(async ({ dataDir = dataFolder(process.env) }: { dataDir?: string }) => {
      process.stdout.write(`${await readiness(dataDir)}\n`)
    })
}

async function readiness(folder: string): Promise<string> {
  const server = runningServer(folder)
  if (!server)
    throw notReady(`No server runs in the data folder ${folder}. Start it, or name another with --data-dir.`)
  if (server.api_url === undefined) return `ready (process ${server.pid}; its API is off)`
  let response: Response
  try {
    response = await fetch(`${server.api_url}/readyz`, { signal: AbortSignal.timeout(TIMEOUT_MS) })
  } catch (error) {
    throw notReady(`The server at ${server.api_url} does not respond: ${String(error)}.`)
  }
  const text = await response.text()
  if (!response.ok) throw notReady(`The server at ${server.api_url} is not ready: ${text.trim()}`)
  return `ready (process ${server.pid}, ${server.api_url})`
}

const notReady = (message: string): CommandError => new CommandError(message, exitCodes.unavailable)
