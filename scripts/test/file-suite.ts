import { createHook, type AsyncHook } from 'node:async_hooks'
import { after, suite } from 'node:test'
import { inspect } from 'node:util'

/**
 * The hook by which Node's test runner follows every promise and handle, to know the test that they belong to. It takes
 * up to a third of the processor time of a test process, and is needed only while tests are declared: all of ours
 * declare subtests and hooks by their context once they run.
 */
function hookOfRunner(): AsyncHook {
  const prototype = Object.getPrototypeOf(createHook({})) as AsyncHook
  const enable = Reflect.get(prototype, 'enable')
  let found: AsyncHook | undefined
  prototype.enable = function enableAndNote(this: AsyncHook): AsyncHook {
    found = enable.call(this)
    return found
  }
  // The runner begins with the first declaration.
  after(() => undefined)
  prototype.enable = enable
  if (!found) throw new Error('the test runner of Node follows no promises any more')
  return found
}

const hook = hookOfRunner()
let declaring = 0

/** The tests of a file as one suite: hooks at its top level concern only its own tests. */
export function fileSuite(name: string, declare: () => Promise<void>): void {
  declaring += 1
  hook.enable()
  void suite(name, async () => {
    try {
      await declare()
    } finally {
      declaring -= 1
      if (declaring === 0) hook.disable()
    }
  })
}

// The runner fails the process for an error that it can ascribe to no test, but tells only its message.
const tell = (error: unknown): void => void process.stderr.write(`${inspect(error)}\n`)
process.on('uncaughtExceptionMonitor', tell)
process.on('unhandledRejection', tell)
