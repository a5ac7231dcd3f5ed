// One dumbbell in ns-3, used by the benchmark. TCP flows with one law share one drop-tail bottleneck.
//
//   dumbbell --law=TcpLinuxReno --flows=1 --rate=100 --rtt=70 --queue=583 --time=60
//
// Hosts and links are those of ../ns2/dumbbell.tcl, except that point-to-point links add two bytes.
// Standard output covers the time from warmup to the end:
//
//   flow NUMBER LAW packets N bytes N events N lost N
//   hops N
//   memory KIB
//
// where events and lost are always 0, because tracing would cost time. Hops follow from packets and
// acknowledgements over three links each way; memory is the program's peak.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

using namespace ns3;

namespace {

// Links of hosts, and what of the one-way delay they have each.
constexpr double accessMbit = 1000;
constexpr double accessShare = 1.0 / 16;

struct Settings {
    std::string law = "TcpLinuxReno";
    uint32_t flows = 1;
    double rate = 100;
    double rtt = 70;
    uint32_t queue = 583;
    double time = 60;
    double warmup = 0;
    uint32_t packet = 1500;
    uint32_t ack = 2;
    uint32_t window = 100000;
};

Settings read(int argc, char **argv)
{
    Settings s;
    CommandLine words(__FILE__);
    words.AddValue("law", "TypeId of the congestion control", s.law);
    words.AddValue("flows", "how many", s.flows);
    words.AddValue("rate", "of the bottleneck in Mbit/s", s.rate);
    words.AddValue("rtt", "without queues, in milliseconds", s.rtt);
    words.AddValue("queue", "packets that wait at the bottleneck at most", s.queue);
    words.AddValue("time", "seconds", s.time);
    words.AddValue("warmup", "seconds that are not counted", s.warmup);
    words.AddValue("packet", "bytes of an IP packet", s.packet);
    words.AddValue("ack", "packets per acknowledgement", s.ack);
    words.AddValue("window", "packets that may be in flight", s.window);
    words.Parse(argc, argv);
    return s;
}

void configure(const Settings &s)
{
    // Headers of IP, TCP and timestamps: 52 bytes.
    const uint32_t segment = s.packet - 52;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::" + s.law));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(s.ack));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(s.window * segment));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(s.window * segment));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
}

NetDeviceContainer join(Ptr<Node> a, Ptr<Node> b, double mbit, double delay, uint32_t queue)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(mbit * 1e6))));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize",
                  QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, queue)));
    return link.Install(a, b);
}

void printMemory()
{
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        if (word == "VmHWM:" && status >> word) {
            std::cout << "memory " << word << "\n";
        }
    }
}

struct Flow {
    Ptr<PacketSink> sink;
    uint64_t before = 0;
};

} // namespace

int main(int argc, char **argv)
{
    const Settings s = read(argc, argv);
    configure(s);
    const double oneWay = s.rtt / 2000;
    NodeContainer routers;
    routers.Create(2);
    InternetStackHelper stack;
    stack.Install(routers);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    // The queue is the device's alone: no traffic control in front of it.
    const auto number = [&](NetDeviceContainer devices) {
        Ipv4InterfaceContainer ends = addresses.Assign(devices);
        TrafficControlHelper().Uninstall(devices);
        addresses.NewNetwork();
        return ends;
    };
    number(join(routers.Get(0), routers.Get(1), s.rate, oneWay * (1 - 2 * accessShare), s.queue));
    std::vector<Flow> flows(s.flows);
    for (uint32_t n = 0; n < s.flows; ++n) {
        NodeContainer hosts;
        hosts.Create(2);
        stack.Install(hosts);
        const double rate = std::max(accessMbit, s.rate);
        number(join(hosts.Get(0), routers.Get(0), rate, oneWay * accessShare, 1000000));
        const auto ends = number(join(hosts.Get(1), routers.Get(1), rate, oneWay * accessShare, 1000000));
        const uint16_t port = 5001;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        flows[n].sink = DynamicCast<PacketSink>(sink.Install(hosts.Get(1)).Get(0));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(ends.GetAddress(0), port));
        source.SetAttribute("SendSize", UintegerValue(s.packet - 52));
        source.Install(hosts.Get(0)).Start(Seconds(0.1 * n / s.flows));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    Simulator::Schedule(Seconds(s.warmup), [&flows] {
        for (Flow &flow : flows) {
            flow.before = flow.sink->GetTotalRx();
        }
    });
    Simulator::Stop(Seconds(s.time));
    Simulator::Run();
    uint64_t hops = 0;
    for (uint32_t n = 0; n < s.flows; ++n) {
        const uint64_t bytes = flows[n].sink->GetTotalRx() - flows[n].before;
        const uint64_t packets = bytes / (s.packet - 52);
        hops += 3 * (packets + packets / s.ack);
        std::cout << "flow " << n << " " << s.law << " packets " << packets << " bytes " << bytes
                  << " events 0 lost 0\n";
    }
    std::cout << "hops " << hops << "\n";
    printMemory();
    Simulator::Destroy();
    return 0;
}
