import type { AgentSettings } from '#cli/agent/agent-settings.ts'
import { LineView } from '#cli/agent/line-view.ts'
import { fileOutput, streamOutput, type LogOutput } from '#cli/agent/log-output.ts'
import { LogView } from '#cli/agent/log-view.ts'
import { TerminalView } from '#cli/agent/terminal-view.ts'
import type { AgentView } from '#cli/agent/view.ts'
import { isHostedName } from '#cli/invoked-as.ts'

const now = (): Date => new Date()
/** The hosted agent writes nothing to a pipe unless asked to. */
const noLog = isHostedName ? 'false' : undefined

/** A redrawn view on a terminal, lines elsewhere, and a log if requested. */
export function viewFor(
  settings: AgentSettings,
  latency: () => number | undefined,
  quit: () => void,
): AgentView {
  const { log, log_format: format, log_level: level, server } = settings
  const { stdout } = process
  const target = log?.value ?? (format === undefined ? noLog : 'stdout')
  if (target === 'text' || target === 'json') return lineView(target, level.value)
  // TERM=dumb: the cursor cannot be moved.
  const isShown = stdout.isTTY && target !== 'stdout' && process.env['TERM'] !== 'dumb'
  const shown = isShown
    ? new TerminalView({
        terminal: stdout,
        input: process.stdin,
        server: server.value,
        latency,
        now: Date.now,
        quit,
      })
    : undefined
  if (target === undefined) return shown ?? lineView('text', level.value)
  if (target === 'false') return shown ?? lineView('text', 'silent')
  const logged = new LogView({
    format: formatOf(format?.value ?? 'term', target),
    level: level.value,
    write: outputOf(target),
    now,
  })
  return shown ? bothViews(shown, logged) : logged
}

/** A view on the terminal together with a log elsewhere. */
const bothViews = (terminal: AgentView, log: AgentView): AgentView => ({
  isTerminal: terminal.isTerminal,
  inspector: url => each(terminal, log, view => view.inspector(url)),
  status: status => each(terminal, log, view => view.status(status)),
  opened: tunnels => each(terminal, log, view => view.opened(tunnels)),
  connection: event => each(terminal, log, view => view.connection(event)),
  request: event => each(terminal, log, view => view.request(event)),
  note: (level, message) => each(terminal, log, view => view.note(level, message)),
  failed: error => each(terminal, log, view => view.failed(error)),
  close: () => each(terminal, log, view => view.close()),
})

function each(first: AgentView, second: AgentView, call: (view: AgentView) => void): void {
  call(first)
  call(second)
}

/** Our own lines, in a stable format. */
const lineView = (format: 'text' | 'json', level: string): AgentView =>
  new LineView({ format, level, write: streamOutput(process.stdout), now })

/** The human-readable format is for terminals; files and programs get a parsable one. */
function formatOf(format: 'term' | 'logfmt' | 'json', target: string): 'term' | 'logfmt' | 'json' {
  const stream = target === 'stdout' ? process.stdout : target === 'stderr' ? process.stderr : undefined
  return format === 'term' && stream?.isTTY !== true ? 'logfmt' : format
}

function outputOf(target: string): LogOutput {
  if (target === 'stdout') return streamOutput(process.stdout)
  return target === 'stderr' ? streamOutput(process.stderr) : fileOutput(target)
}
