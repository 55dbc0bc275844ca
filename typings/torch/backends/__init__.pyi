from torch.backends import cudnn as cudnn
