import type { AgentSettings } from '#cli/agent/agent-settings.ts'
import { LineView } from '#cli/agent/line-view.ts'
import { TerminalView } from '#cli/agent/terminal-view.ts'
import type { View } from '#cli/agent/view.ts'

/** A view that is redrawn on a terminal, lines elsewhere and where lines are asked for. */
export function viewFor(settings: AgentSettings, latency: () => number | undefined): View {
  const { log, log_level: level, server } = settings
  const { stdout } = process
  // A terminal without a way to move the cursor says that it is dumb.
  if (stdout.isTTY && log === undefined && process.env['TERM'] !== 'dumb')
    return new TerminalView({ terminal: stdout, server: server.value, latency, now: Date.now })
  return new LineView({
    format: log?.value ?? 'text',
    level: level.value,
    write: text => void stdout.write(text),
    now: () => new Date(),
  })
}
