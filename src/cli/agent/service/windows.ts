import { SERVICE_NAME, type ServiceManager, type ServiceSpec } from '#cli/agent/service/service.ts'

const quoted = (word: string): string => `"${word.replaceAll('"', String.raw`\"`)}"`

/** A task that starts at logon, or at boot: a real service would have to implement the service API. */
export function windowsTask({ command, isUser }: ServiceSpec): ServiceManager {
  const task = (verb: string, ...args: readonly string[]): string[] => [
    'schtasks',
    `/${verb}`,
    '/TN',
    SERVICE_NAME,
    ...args,
  ]
  const when = isUser ? ['/SC', 'ONLOGON'] : ['/SC', 'ONSTART', '/RU', 'SYSTEM']
  return {
    file: undefined,
    install: [task('Create', '/F', ...when, '/TR', command.map(quoted).join(' '))],
    uninstall: [task('Delete', '/F')],
    run: {
      start: [task('Run')],
      stop: [task('End')],
      restart: [task('End'), task('Run')],
      status: [task('Query', '/V', '/FO', 'LIST')],
    },
  }
}
