import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** A program of this folder as a separate process; it responds to each message with one message. */
export const program = (file: string): ChildProcess => fork(join(import.meta.dirname, file))

/** Sends a message and waits for the response. */
export async function ask<Reply extends object>(child: ChildProcess, message: object): Promise<Reply> {
  const ended = new AbortController()
  const gone = once(child, 'exit', ended).then(() => {
    throw new Error('the process ended without an answer')
  })
  const answer = once(child, 'message', ended)
  child.send(message)
  try {
    const [reply] = (await Promise.race([answer, gone])) as [Reply | { error: string }]
    if ('error' in reply) throw new Error(reply.error)
    return reply
  } finally {
    gone.catch(() => undefined)
    answer.catch(() => undefined)
    ended.abort()
  }
}
