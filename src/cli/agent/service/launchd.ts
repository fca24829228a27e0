import { join } from 'node:path'
import { SERVICE_NAME, type ServiceManager, type ServiceSpec } from '#cli/agent/service/service.ts'

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const plist = (command: readonly string[], log: string): string => `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>${SERVICE_NAME}</string>
  <key>ProgramArguments</key>
  <array>
${command.map(word => `    <string>${escaped(word)}</string>`).join('\n')}
  </array>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>StandardOutPath</key><string>${escaped(log)}</string>
  <key>StandardErrorPath</key><string>${escaped(log)}</string>
</dict>
</plist>
`

export function launchd({ command, home, isUser }: ServiceSpec, userId: number): ServiceManager {
  const folder = isUser ? join(home, 'Library', 'LaunchAgents') : '/Library/LaunchDaemons'
  const log = isUser ? join(home, 'Library', 'Logs', 'adit-agent.log') : '/Library/Logs/adit-agent.log'
  const path = join(folder, `${SERVICE_NAME}.plist`)
  const domain = isUser ? `gui/${userId}` : 'system'
  const bootstrap = ['launchctl', 'bootstrap', domain, path]
  const bootout = ['launchctl', 'bootout', `${domain}/${SERVICE_NAME}`]
  return {
    file: { path, text: plist(command, log) },
    install: [],
    uninstall: [bootout],
    run: {
      start: [bootstrap],
      stop: [bootout],
      restart: [['launchctl', 'kickstart', '-k', `${domain}/${SERVICE_NAME}`]],
      status: [['launchctl', 'print', `${domain}/${SERVICE_NAME}`]],
    },
  }
}
