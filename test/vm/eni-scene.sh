# One node whose ENI is a network card, and the VPC behind it, as a script for the virtual machine: eth0 is the ENI in the node (this namespace), eth1 the
# VPC's side, in `r`, where a backend of a service listens and everybody is answered for. p and q are pods by ipvlan, v one by a veth pair.
# A bare `ip` would be busybox's.
for n in r p q v; do /bin/ip netns add $n; /bin/ip -n $n link set lo up; done
at() { n=$1; shift; /bin/ip netns exec $n "$@"; }
for f in /proc/sys/net/ipv6/conf/*/accept_dad; do echo 0 >$f; done
# What has the ENI's MAC and is none: made before it comes up, and after.
/bin/ip link add decoy0 address 00:16:3e:00:00:07 type bridge
/bin/ip link set eth1 netns r
/bin/ip -n r link set eth1 up
at r sh -c 'echo 1 >/proc/sys/net/ipv4/conf/eth1/proxy_arp; echo 1 >/proc/sys/net/ipv4/conf/eth1/proxy_arp_pvlan; echo 0 >/proc/sys/net/ipv4/conf/eth1/send_redirects
  echo 0 >/proc/sys/net/ipv4/conf/all/send_redirects; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding; echo 1 >/proc/sys/net/ipv6/conf/eth1/proxy_ndp
  echo 0 >/proc/sys/net/ipv6/neigh/eth1/proxy_delay; echo 0 >/proc/sys/net/ipv4/neigh/eth1/proxy_delay; echo 1 >/proc/sys/net/ipv4/ip_forward'
for a in 192.168.0.253 192.168.0.50; do /bin/ip -n r addr add $a/32 dev eth1; done
for a in fd00::fd fd00::50; do /bin/ip -n r addr add $a/128 dev eth1 nodad; done
/bin/ip -n r route add 192.168.0.0/24 dev eth1 scope link; /bin/ip -6 -n r route add fd00::/64 dev eth1
/bin/ip -n r route add 10.0.0.5 dev eth1 scope link
# The VPC knows who has which address, and answers for each; the node never does for its pods.
for a in 192.168.0.12 fd00::12; do /bin/ip -n r neigh replace $a lladdr 00:16:3e:00:00:07 dev eth1 nud permanent; done
for a in fd00::10 fd00::11 fd00::12; do /bin/ip -n r -6 neigh add proxy $a dev eth1; done
# The node's own way out, beside the ENI.
/bin/ip link add up0 type dummy; /bin/ip link set up0 up
/bin/ip addr add 10.0.0.5/32 dev up0; /bin/ip addr add fd00:5::5/128 dev up0 nodad
/bin/ip route add default dev up0; /bin/ip -6 route add default dev up0

/bin/ip link add decoy1 address 00:16:3e:00:00:07 type dummy
/bin/scene 'eni veth' 'eni device' 'pod p ipvlan 192.168.0.10 fd00::10' 'pod q ipvlan 192.168.0.11 fd00::11' 'pod v veth 192.168.0.12 fd00::12' \
  'check p ipvlan 192.168.0.10 fd00::10'
echo "device p: $(at p /bin/ip -d -o link show eth0 | sed -n 's/.*\(ipvlan *mode l2\).*/\1/p')"
echo "tentative: $(at p /bin/ip -6 addr show scope global tentative | wc -l)"

# A service that the node turns to the backend, as kube-proxy does.
nft -f - <<N
table ip svc { chain pre { type nat hook prerouting priority -100; ip daddr 172.21.0.5 tcp dport 80 dnat to 192.168.0.11:8080; }; }
table ip6 svc { chain pre { type nat hook prerouting priority -100; ip6 daddr fd00:21::5 tcp dport 80 dnat to [fd00::11]:8080; }; }
N
mkdir -p /www/cgi-bin
printf '#!/bin/sh\necho\necho $REMOTE_ADDR\n' >/www/cgi-bin/who
chmod 755 /www/cgi-bin/who
for n in p q v r; do at $n httpd -p [::]:8080 -h /www; done
httpd -p [::]:8080 -h /www
ask() { # what, who asks, of whom, port
  a=$(printf 'GET /cgi-bin/who HTTP/1.0\r\n\r\n' | $2 nc -w 3 $3 $4 2>/dev/null | tail -n 1 | sed 's/::ffff://; s/[][]//g')
  echo "$1: ${a:-nobody}"
}
for f in 4 6; do
  if [ $f = 4 ]; then p=192.168.0.10 q=192.168.0.11 v=192.168.0.12 b=192.168.0.50 n=10.0.0.5 s=172.21.0.5
  else p=fd00::10 q=fd00::11 v=fd00::12 b=fd00::50 n=fd00:5::5 s=fd00:21::5; fi
  ask "IPv$f pod to pod, same ENI" "at p" $q 8080
  ask "IPv$f pod to the VPC" "at p" $b 8080
  ask "IPv$f VPC to pod" "at r" $p 8080
  ask "IPv$f pod to its node" "at p" $n 8080
  ask "IPv$f node to its pod" "" $p 8080
  ask "IPv$f pod to ClusterIP" "at p" $s 80
  ask "IPv$f pod behind a pair to the VPC" "at v" $b 8080
  ask "IPv$f pod behind a pair to ClusterIP" "at v" $s 80
done
/bin/scene 'del p 192.168.0.10 fd00::10' 'check q ipvlan 192.168.0.11 fd00::11'
echo "left of p: $(at p /bin/ip -o link | grep -c -v ': lo:') $(/bin/ip -o link | grep -c 'default/p eth0')"
