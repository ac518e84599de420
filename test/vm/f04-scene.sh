# One node with two ENIs in a VPC whose router is strict, as a script for the virtual machine. Names of namespaces:
# r router, n node, p and q pods on eth1 and eth2 of n, b a backend elsewhere in the VPC, e a client beyond it.
# Arguments of `ask`: what it is, who asks, of whom; prints `what: who answered saw whom`.
# A bare `ip` would be busybox's.
alias ip=/bin/ip
for n in r n p q b e; do /bin/ip netns add $n; /bin/ip -n $n link set lo up; done
at() { n=$1; shift; /bin/ip netns exec $n "$@"; }
wire() { # router's device, its far namespace, device there
  /bin/ip link add $1 netns r type veth peer name $3 netns $2
  /bin/ip -n r link set $1 up
  /bin/ip -n $2 link set $3 up
}
for n in r n p q b e; do
  at $n sh -c 'for f in /proc/sys/net/ipv6/conf/*/accept_dad; do echo 0 >$f; done; echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
    for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 >$f; done'
done
wire r0 n eth0; wire r1 n eth1; wire r2 n eth2; wire rb b eth0; wire re e eth0
/bin/ip link add cali1 netns n type veth peer name eth0 netns p
/bin/ip link add cali2 netns n type veth peer name eth0 netns q
for d in cali1 cali2; do /bin/ip -n n link set $d up; done
/bin/ip -n p link set eth0 up; /bin/ip -n q link set eth0 up
mac() { /bin/ip -n $1 -o link show $2 | sed 's/.*ether \([^ ]*\).*/\1/'; }
for n in r n; do at $n sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'; done
at n sh -c 'for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 >$f; done'

# The router knows each address, and its gateway's MAC is told to everybody for good.
route() { # address, router's device, namespace, device there
  f=-4; case $1 in *:*) f=-6;; esac
  /bin/ip $f -n r route add $1 dev $2
  /bin/ip -n r neigh replace $1 lladdr $(mac $3 $4) dev $2 nud permanent
}
route 10.0.0.10 r0 n eth0; route 10.0.0.20 r1 n eth1; route 10.0.0.21 r2 n eth2; route 10.0.0.30 rb b eth0; route 203.0.113.9 re e eth0
route fd00::10 r0 n eth0; route fd00::20 r1 n eth1; route fd00::21 r2 n eth2; route fd00::30 rb b eth0; route fd00:113::9 re e eth0
gateway() { # namespace, device, router's device
  for g in 10.0.0.253 fd00::fd; do /bin/ip -n $1 neigh replace $g lladdr $(mac r $3) dev $2 nud permanent; done
}
gateway n eth0 r0; gateway n eth1 r1; gateway n eth2 r2; gateway b eth0 rb; gateway e eth0 re
host() { # namespace, its addresses
  /bin/ip -n $1 addr add $2/32 dev eth0; /bin/ip -n $1 addr add $3/128 dev eth0 nodad
  /bin/ip -n $1 route add default via 10.0.0.253 dev eth0 onlink; /bin/ip -6 -n $1 route add default via fd00::fd dev eth0 onlink
}
host n 10.0.0.10 fd00::10; host b 10.0.0.30 fd00::30; host e 203.0.113.9 fd00:113::9
strict() { # anew, so that its counters are
at r nft -f - <<N
add table inet strict
delete table inet strict
table inet strict {
  chain pre {
    type filter hook prerouting priority -300;
    iifname r0 ip saddr != 10.0.0.10 counter drop
    iifname r1 ip saddr != 10.0.0.20 counter drop
    iifname r2 ip saddr != 10.0.0.21 counter drop
    iifname r0 ip6 saddr != { fd00::10, fe80::/10 } counter drop
    iifname r1 ip6 saddr != { fd00::20, fe80::/10 } counter drop
    iifname r2 ip6 saddr != { fd00::21, fe80::/10 } counter drop
  }
}
N
}

# What the plugin and the daemon make for a pod: its route, the pair of rules, its ENI's table.
pod() { # namespace, host's device, ENI, table, addresses
  /bin/ip -n n addr add 10.0.0.10/32 dev $3
  /bin/ip -n n route add default via 10.0.0.253 dev $3 onlink table $4; /bin/ip -6 -n n route add default via fd00::fd dev $3 onlink table $4
  for a in $5 $6; do
    f=-4; g=169.254.1.1; case $a in *:*) f=-6; g=fe80::1;; esac
    /bin/ip $f -n n route add $a dev $2
    /bin/ip $f -n n rule add prio 512 to $a lookup main
    /bin/ip $f -n n rule add prio 2048 from $a lookup $4
    case $a in *:*) /bin/ip -n $1 addr add $a/128 dev eth0 nodad;; *) /bin/ip -n $1 addr add $a/32 dev eth0;; esac
    /bin/ip -n $1 neigh replace $g lladdr $(mac n $2) dev eth0 nud permanent
    /bin/ip $f -n $1 route add default via $g dev eth0 onlink
  done
}
pod p cali1 eth1 1003 10.0.0.20 fd00::20
pod q cali2 eth2 1004 10.0.0.21 fd00::21

# kube-proxy in IPVS mode: addresses of services on a dummy, virtual servers, and its marks (there by ipset, here by nft).
echo 1 | at n tee /proc/sys/net/ipv4/vs/conntrack >/dev/null
/bin/ip -n n link add kube-ipvs0 type dummy
service() { # address, port, its real servers
  v=$1:$2; case $1 in *:*) v="[$1]:$2";; esac
  [ $1 = 10.0.0.10 ] || [ $1 = fd00::10 ] || /bin/ip -n n addr add $1 dev kube-ipvs0 2>/dev/null
  at n ipvsadm -A -t $v -s rr
  at n ipvsadm -a -t $v -r $3 -m
}
service 172.21.0.5 80 10.0.0.30:8080; service fd00:21::5 80 [fd00::30]:8080
service 172.21.0.6 80 10.0.0.21:8080; service fd00:21::6 80 [fd00::21]:8080
service 172.21.0.7 80 10.0.0.20:8080; service fd00:21::7 80 [fd00::20]:8080
service 203.0.113.100 80 10.0.0.30:8080; service fd00:113::100 80 [fd00::30]:8080
for a in 10.0.0.10 fd00::10; do
  b=10.0.0.30:8080; p=10.0.0.20:8080; [ $a = fd00::10 ] && b=[fd00::30]:8080 && p=[fd00::20]:8080
  service $a 30001 $b; service $a 30002 $p; service $a 30003 $p
done

# A web server tells who it is and whom it sees.
for n in p q b; do
  mkdir -p /www/$n/cgi-bin
  printf '#!/bin/sh\necho\necho %s $REMOTE_ADDR\n' $n >/www/$n/cgi-bin/who
  chmod 755 /www/$n/cgi-bin/who
  at $n httpd -p [::]:8080 -h /www/$n
done
sleep 1
name() {
  sed 's/::ffff://; s/[][]//g; s/ 10.0.0.10$/ node/; s/ fd00::10$/ node/; s/ 10.0.0.20$/ p/; s/ fd00::20$/ p/; s/ 10.0.0.21$/ q/; s/ fd00::21$/ q/; s/ 203.0.113.9$/ client/; s/ fd00:113::9$/ client/'
}
ask() {
  a=$(printf 'GET /cgi-bin/who HTTP/1.0\r\n\r\n' | at $2 nc -w 2 $3 $4 2>/dev/null | tail -n 1 | name)
  echo "$1: ${a:-nobody}"
}
refused() {
  echo "refused $1: $(at r nft list table inet strict | sed -n 's/.*counter packets \([0-9]*\).*/\1/p' | tr '\n' ' ')"
}
all() {
  for f in 4 6; do
    if [ $f = 4 ]; then s=172.21.0; x=203.0.113.100; o=10.0.0.10; d=.; else s=fd00:21::; x=fd00:113::100; o=fd00::10; d=; fi
    ask "IPv$f pod to ClusterIP, backend elsewhere" p $s$d'5' 80
    ask "IPv$f pod to ClusterIP, backend on another ENI of the node" p $s$d'6' 80
    ask "IPv$f pod to itself through its ClusterIP" p $s$d'7' 80
    ask "IPv$f pod to external IP, Cluster, backend elsewhere" p $x 80
    ask "IPv$f node to ClusterIP, backend elsewhere" n $s$d'5' 80
    ask "IPv$f outside to NodePort, Cluster, backend elsewhere" e $o 30001
    ask "IPv$f outside to NodePort, Cluster, backend on the node" e $o 30002
    ask "IPv$f outside to NodePort, Local, backend on the node" e $o 30003
  done
}
# Where there is any nat the kernel looks up again what IPVS has rewritten; so first without.
bare() {
  ask "IPv4 $1 pod to ClusterIP, backend elsewhere" p 172.21.0.5 80
  ask "IPv6 $1 pod to ClusterIP, backend elsewhere" p fd00:21::5 80
}
strict
bare 'without our table'
refused 'without our table'
at n nft -f /enactor.nft
for f in -4 -6; do /bin/ip $f -n n rule add prio 600 fwmark 0x10/0x10 lookup main; done
strict
bare 'with our table'
at n nft -f - <<N
table inet kube-ipvs {
  chain to-masquerade { meta mark set meta mark or 0x4000; }
  chain services {
    ip saddr != 10.0.0.0/24 ip daddr 172.21.0.0/16 jump to-masquerade
    ip6 saddr != fd00::/64 ip6 daddr fd00:21::/64 jump to-masquerade
    ip daddr 203.0.113.100 jump to-masquerade
    ip6 daddr fd00:113::100 jump to-masquerade
    tcp dport { 30001, 30002 } jump to-masquerade
  }
  chain pre { type nat hook prerouting priority -100; jump services; }
  chain out { type nat hook output priority -100; jump services; }
  chain post {
    type nat hook postrouting priority 100;
    ip saddr 10.0.0.20 ip daddr 10.0.0.20 masquerade
    ip6 saddr fd00::20 ip6 daddr fd00::20 masquerade
    meta mark and 0x4000 == 0 return
    meta mark set meta mark xor 0x4000
    masquerade
  }
}
N
all
refused 'with our table'
