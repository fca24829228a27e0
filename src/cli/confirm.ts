import { createInterface } from 'node:readline'
import { DeclinedError, exitCodes } from '#cli/failure.ts'
import { printable } from '#cli/printable.ts'

/** Asks for confirmation, but only interactively: a script has decided already. */
export async function confirm(what: string): Promise<void> {
  if (!process.stdin.isTTY) return
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  // The prompt takes Ctrl-C away from the process.
  prompt.once('SIGINT', () => process.exit(exitCodes.interrupted))
  const answer = await new Promise<string>(resolve => {
    prompt.once('close', () => resolve(''))
    prompt.question(`${printable(what)} [y/N] `, resolve)
  })
  prompt.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw new DeclinedError('nothing was deleted')
}
