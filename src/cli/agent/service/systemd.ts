import { join } from 'node:path'
import { SERVICE_NAME, type ServiceManager, type ServiceSpec } from '#cli/agent/service/service.ts'

/** A word of ExecStart, in which systemd replaces % and $. */
const quoted = (word: string): string =>
  `"${word
    .replaceAll(/["\\]/g, String.raw`\$&`)
    .replaceAll('%', '%%')
    .replaceAll('$', '$$$$')}"`

const unit = ({ command, isUser }: ServiceSpec): string => `[Unit]
Description=Adit agent
After=network-online.target
Wants=network-online.target

[Service]
ExecStart=${command.map(quoted).join(' ')}
Restart=on-failure
RestartSec=5
# Wrong usage, a rejected credential and a wrong file need a person.
RestartPreventExitStatus=2 4 78
NoNewPrivileges=yes

[Install]
WantedBy=${isUser ? 'default' : 'multi-user'}.target
`

export function systemd(spec: ServiceSpec): ServiceManager {
  const folder = spec.isUser ? join(spec.home, '.config', 'systemd', 'user') : '/etc/systemd/system'
  const systemctl = (...args: readonly string[]): string[] => [
    'systemctl',
    ...(spec.isUser ? ['--user'] : []),
    ...args,
  ]
  return {
    file: { path: join(folder, `${SERVICE_NAME}.service`), text: unit(spec) },
    install: [systemctl('daemon-reload'), systemctl('enable', SERVICE_NAME)],
    uninstall: [systemctl('disable', '--now', SERVICE_NAME), systemctl('daemon-reload')],
    run: {
      start: [systemctl('start', SERVICE_NAME)],
      stop: [systemctl('stop', SERVICE_NAME)],
      restart: [systemctl('restart', SERVICE_NAME)],
      status: [systemctl('status', '--no-pager', SERVICE_NAME)],
    },
  }
}
