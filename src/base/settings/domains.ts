import { address, authorities, directory, email, ips, nameServers, text } from '#base/setting-values.ts'
import { type Setting, setting } from '#base/settings/setting.ts'

/** DNS and certificates of domains. */
export const domainSettings = {
  dns_addr: setting({
    doc: 'Address of the authoritative DNS server for the shared domain and delegated domains, UDP and TCP.',
    example: 'HOST:PORT',
    fallback: 'off',
    read: address,
  }),
  public_addresses: setting({
    doc: 'Public addresses of this server, for DNS; by default those of its listeners.',
    example: 'IP,...',
    read: ips,
  }),
  caa: setting({
    doc: 'CAs that may issue certificates (CAA records), such as letsencrypt.org; any by default.',
    example: 'NAME,...',
    read: authorities,
  }),
  acme_directory: setting({
    doc: 'ACME directory of the CA that issues certificates for custom domains.',
    example: 'URL',
    fallback: 'https://acme-v02.api.letsencrypt.org/directory',
    read: directory,
  }),
  acme_ca_file: setting({
    doc: 'Additional root certificates, in PEM, for connections to that CA.',
    example: 'FILE',
    read: text,
  }),
  acme_email: setting({
    doc: 'Contact address for that CA.',
    example: 'ADDRESS',
    read: email,
  }),
  acme_dns: setting({
    doc: 'Name servers for checking whether a custom domain points to this server; by default those of the machine.',
    example: 'IP:PORT,...',
    read: nameServers,
  }),
} satisfies Record<string, Setting<unknown>>
