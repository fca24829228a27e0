/** What a snippet contains. */
export interface SnippetValues {
  readonly token: string
  /** Where agents connect to. */
  readonly server: string
  /** Where ssh connects to; undefined if the server does not accept it. */
  readonly ssh: string | undefined
  readonly version: string
}

export interface AgentSnippet {
  readonly name: string
  /** How the program gets there, if there is a package for it. */
  readonly install?: string
  readonly commands: string
  /** It authenticates by an SSH key instead of the token. */
  readonly isSsh?: true
}

const npm = (version: string): string => `npm install --global ./adit-${version}.tgz`

/** `host:2222` as arguments of ssh. */
function sshCommand(address: string): string {
  const [, host = address, port = '22'] = /^(.*):(\d+)$/.exec(address) ?? []
  return `ssh -p ${port} -R 80:localhost:3000 ${host} http`
}

/** How an agent is started, for each kind of machine. */
export function agentSnippets({ token, server, ssh, version }: SnippetValues): AgentSnippet[] {
  const commands = `adit config add-authtoken ${token}\nadit http 3000 --server ${server}`
  return [
    { name: 'macOS', install: npm(version), commands },
    { name: 'Linux', install: `sudo apt-get install ./adit_${version}_amd64.deb`, commands },
    { name: 'Windows', install: npm(version), commands },
    {
      name: 'Docker',
      install: `docker load --input adit-${version}-image.tar`,
      commands: `docker run -e ADIT_AUTHTOKEN=${token} adit:${version} http host.docker.internal:3000 --server ${server}`,
    },
    ...(ssh === undefined ? [] : [{ name: 'ssh -R', commands: sshCommand(ssh), isSsh: true as const }]),
    {
      name: 'Node',
      install: `npm install ./adit-${version}.tgz`,
      commands: [
        "import { forward } from 'adit'",
        '',
        `const tunnel = await forward({ server: '${server}', authtoken: '${token}', forwardTo: 3000 })`,
        'console.log(tunnel.url)',
      ].join('\n'),
    },
    {
      name: 'Kubernetes',
      commands: `kubectl run adit-agent --image=adit:${version} --env=ADIT_AUTHTOKEN=${token} -- http my-service:3000 --server ${server}`,
    },
  ]
}
