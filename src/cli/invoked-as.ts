import { basename } from 'node:path'

const VARIABLE = 'ADIT_INVOKED_AS'
/** The version of the hosted agent whose command line and log this program implements; wrappers compare it. */
export const HOSTED_VERSION = '3.39.10'

function invokedAs(): string {
  const given = process.env[VARIABLE]
  // Programs started by this one were not invoked by that name.
  delete process.env[VARIABLE]
  return given ?? basename(process.argv[1] ?? process.argv0)
}

/**
 * Whether the program was started as `ngrok`: by a link or launcher of that name, in place of the hosted agent.
 * Defaults and messages are then those that wrappers expect.
 */
export const isHostedName: boolean = /^ngrok(\.\w+)?$/i.test(invokedAs())

const CODE = /\bERR_(?:ADIT|NGROK)_(\d+)\b/

/** An error in the form of the hosted agent: every line marked, and the code alone on the last one. */
export function hostedError(text: string): string {
  const lines = text.split('\n').map(line => line.trim())
  const code = CODE.exec(text)?.[1]
  const message = lines.filter(line => !line.startsWith('code ERR_'))
  const marked = code === undefined ? message : [...message, '', `ERR_NGROK_${code}`]
  return marked.map(line => `ERROR:  ${line}`.trimEnd()).join('\n')
}

/** Uses the variables of the hosted agent where ours are not set. */
export function adoptHostedVariables(environment: NodeJS.ProcessEnv): void {
  const token = environment['NGROK_AUTHTOKEN']
  if (isHostedName && token !== undefined) environment['ADIT_AUTHTOKEN'] ??= token
}
