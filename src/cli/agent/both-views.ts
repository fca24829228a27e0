import type { AgentView } from '#cli/agent/view.ts'

/** A view on the terminal together with a log elsewhere. */
export const bothViews = (terminal: AgentView, log: AgentView): AgentView => ({
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
