import type { AgentOptions, CommandName } from '#agent/options.ts'
import { unsupportedReason } from '#agent/sign-in.ts'
import { emptyRequest, type PlainAnswer, updateRequest, type UpdateAgentRequest } from '#tunnel/messages.ts'
import { serve } from '#tunnel/rpc.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import type { TunnelStream } from '#tunnel/stream.ts'

const MAX_BYTES = 65_536
const names = new Map<number, CommandName>([
  [streamTypes.stop, 'stop'],
  [streamTypes.restart, 'restart'],
  [streamTypes.update, 'update'],
])

export const commandOf = (type: number): CommandName | undefined => names.get(type)

/** Executes a command of the gateway and responds. */
export async function serveCommand(
  name: CommandName,
  stream: TunnelStream,
  options: AgentOptions,
): Promise<void> {
  const refused = unsupportedReason(name, options)
  const run = async (work: () => Promise<void> | void): Promise<PlainAnswer> => {
    try {
      if (refused === '') await work()
      return { Error: refused }
    } catch (error) {
      return { Error: error instanceof Error ? error.message : String(error) }
    }
  }
  const { commands = {} } = options
  if (name !== 'update') {
    const handle = () => run(() => commands[name]?.())
    await serve(stream, { request: emptyRequest, handle }, { limit: MAX_BYTES })
    return
  }
  const handle = ({ Version: version, PermitMajorVersion: permitMajor }: UpdateAgentRequest) =>
    run(() => commands.update?.({ version, permitMajor }))
  await serve(stream, { request: updateRequest, handle }, { limit: MAX_BYTES })
}
