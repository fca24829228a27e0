#!/usr/bin/perl
# Chromium that does not know of network interfaces: whenever one is added or removed, as other tests do at the same
# time, it ends all requests that wait for a connection, with ERR_NETWORK_CHANGED. Without a netlink socket it follows
# none; a seccomp filter makes socket(AF_NETLINK) fail.
use strict;
use warnings;
use POSIX ();

my ($EPERM, $AF_NETLINK) = (1, 16);
my %machines = (
    x86_64  => { arch => 0xC000003E, socket => 41,  prctl => 157 },
    aarch64 => { arch => 0xC00000B7, socket => 198, prctl => 167 },
);
my $machine = $machines{(POSIX::uname())[4]} or die "unknown machine\n";

# Offsets in struct seccomp_data: number 0, architecture 4, first argument 16.
my ($LOAD, $IF_EQUAL, $RETURN) = (0x20, 0x15, 0x06);
my @filter = (
    [$LOAD,     0, 0, 4],
    [$IF_EQUAL, 0, 4, $machine->{arch}],
    [$LOAD,     0, 0, 0],
    [$IF_EQUAL, 0, 2, $machine->{socket}],
    [$LOAD,     0, 0, 16],
    [$IF_EQUAL, 1, 0, $AF_NETLINK],
    [$RETURN,   0, 0, 0x7FFF0000],
    [$RETURN,   0, 0, 0x00050000 | $EPERM],
);
my $code = join '', map { pack 'SCCL', @$_ } @filter;
my $program = pack 'Sx![P]P', scalar @filter, $code;

my ($PR_SET_SECCOMP, $PR_SET_NO_NEW_PRIVS, $SECCOMP_MODE_FILTER) = (22, 38, 2);
for my $call ([$PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0], [$PR_SET_SECCOMP, $SECCOMP_MODE_FILTER, $program]) {
    syscall($machine->{prctl}, @$call) == 0 or die "prctl: $!\n";
}

# It would keep a process ready for a page to come. Of several such options only the last counts, so that Playwright's is
# extended.
s/^(--disable-features=.+)/$1,SpareRendererForSitePerProcess/ for @ARGV;

# The browser without its windows: pages take a fifth less processor time. Not by the launcher of the package, which would
# stay as a process of its own.
exec '/usr/lib/chromium/chromium-headless-shell', @ARGV or die "chromium-headless-shell: $!\n";
