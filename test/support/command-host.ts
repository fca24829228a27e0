import { fork, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import type { Invocation } from './command-host-program.ts'
import { assertNoSecretInOutput } from './leaks.ts'
import { aditEnvironment, type Finished } from './server.ts'

let host: ChildProcess | undefined
let last: Promise<unknown> = Promise.resolve()

/**
 * Runs a command of `adit` that ends by itself, without standard input, in a process that runs all of them: to start
 * one takes many times as long as most commands. For what concerns the process itself there is `runAdit`.
 */
export function runCommand(
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<Finished> {
  const finished = last.then(() => runInHost({ args, environment: aditEnvironment(environment) }))
  last = finished.catch(() => undefined)
  return finished
}

function startHost(): ChildProcess {
  const child = fork(join(import.meta.dirname, 'command-host-program.ts'), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  // It ends with this process, which does not wait for it.
  child.unref()
  child.once('exit', () => (host = undefined))
  return child
}

async function runInHost(invocation: Invocation): Promise<Finished> {
  host ??= startHost()
  const child = host
  const { promise, resolve, reject } = Promise.withResolvers<Finished>()
  const onExit = (code: number | null) =>
    reject(new Error(`adit ${invocation.args.join(' ')} ended the process of all commands with ${code}`))
  child.once('message', finished => resolve(finished as Finished))
  child.once('exit', onExit)
  child.channel?.ref()
  child.send(invocation)
  try {
    const finished = await promise
    assertNoSecretInOutput(invocation.args, finished)
    return finished
  } finally {
    child.off('exit', onExit)
    child.channel?.unref()
  }
}
